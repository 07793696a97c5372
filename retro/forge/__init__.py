"""Where pull requests go: git, a forge's REST interface, the words of a request."""
