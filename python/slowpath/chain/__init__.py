"""Commands `slowpath chain`: programs that run one after another on the same packet."""
