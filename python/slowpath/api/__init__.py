"""What Python programs call: `docs/python.md`."""
