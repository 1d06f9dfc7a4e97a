"""What every other room may use: the case, errors, files, devices, environments."""
