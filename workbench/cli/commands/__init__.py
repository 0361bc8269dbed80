"""The commands, one in each module, found by being here.

The first line of a module says what the command does, `arguments` declares its arguments, and the function of the
command's name, of the options and the `Output`, runs it; it returns the exit code. Heavy modules are imported in the
function, so that parsing stays quick.
"""
