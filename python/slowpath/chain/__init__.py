"""The slice `chain`: programs that run one behind another."""
