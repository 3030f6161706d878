"""Code that all estimators share: input checks, atomic calls, fits by prior + statistics."""
