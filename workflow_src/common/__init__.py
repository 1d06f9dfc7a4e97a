"""Code shared by all other subpackages: the case, errors, files, devices, environments."""
