"""The subcommands of `scoring`: a module each, with `add_parser(subparsers)`."""
