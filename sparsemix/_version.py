"""The version, read by the build and stamped on pickles."""

__version__ = "0.1.0.dev0"
