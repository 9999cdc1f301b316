"""One module per kind of stack, each with a `build`; and the stack files, `Pulumi.<stack>.yaml`."""
