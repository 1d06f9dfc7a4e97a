"""What the plain time of each case's training step goes to: the picture of the report's opening."""
