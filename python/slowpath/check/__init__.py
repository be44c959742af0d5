"""The command `slowpath check`: verifies certificates of guarantees."""
