"""Programs of experiments, generated from templates for each test bed."""
