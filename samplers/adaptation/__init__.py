"""What kernels are composed with: preconditioners, step size rules and adaptations."""
