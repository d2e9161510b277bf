"""Components of samplers: preconditioners, step size rules and adaptations."""
