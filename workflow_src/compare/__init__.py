"""Two runs or captures compared: what differs, by how much, and whether that can be told."""
