"""The version, read by the build and stamped on pickles."""

__version__ = "0.1.0.dev0"

# Address of the published documentation, without a slash at its end; empty as long as there is none.
SITE = ""

# Address of the public repository, such as https://github.com/OWNER/sparsemix; empty as long as there is none. It gives
# the links of README.md that a package index shows; both give the index its list of addresses.
REPOSITORY = ""
