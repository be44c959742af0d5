"""Places network functions on the NICs of a fleet, so that all keep their promised throughput."""
