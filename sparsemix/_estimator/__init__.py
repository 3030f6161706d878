"""What all estimators share: checks of input, calls that change all or nothing, fits by prior + statistics."""
