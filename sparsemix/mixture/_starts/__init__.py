"""Where a mixture begins: seeds and how they are judged, splitting, exchanges."""
