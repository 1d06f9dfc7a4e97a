"""What a plain step would take with remedies, predicted from its run's tables by replay."""
