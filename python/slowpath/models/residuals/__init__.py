"""What neighbouring points have in common that no function has: the residuals as a process."""
