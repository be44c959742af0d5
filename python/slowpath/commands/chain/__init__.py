"""`slowpath chain`: several programs as one."""
