"""The slice `insights`: needs of an unported network function on a SmartNIC."""
