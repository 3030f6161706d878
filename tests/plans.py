"""Plans of fits as tests read and change them."""

from dataclasses import replace


def without_hooks(patch, recipe_class, *kinds):
    """Let plans of a recipe have no hooks of these classes."""
    original = recipe_class.plan

    def plan(*arguments):
        made = original(*arguments)
        return replace(made, hooks=tuple(hook for hook in made.hooks if not isinstance(hook, kinds)))

    patch.setattr(recipe_class, "plan", plan)


def plans_of(patch, recipe_class):
    """A list to which every plan of a recipe is appended."""
    original, made = recipe_class.plan, []

    def plan(*arguments):
        made.append(original(*arguments))
        return made[-1]

    patch.setattr(recipe_class, "plan", plan)
    return made


def takes_blocks(estimator):
    """Whether ``blocks.fit`` takes an estimator."""
    return hasattr(estimator, "_recipe") and hasattr(estimator._recipe(), "survey")
