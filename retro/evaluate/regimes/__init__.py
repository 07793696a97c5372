"""Results by the regime in which positions were entered, and what each rule earns in which. Pure."""
