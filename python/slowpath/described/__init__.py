"""Files that users write in YAML: read such that every complaint names file, line and key."""
