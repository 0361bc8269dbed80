"""Other machines that run kernels, reached through a pipe: boards, servers behind ssh, and qemu as such a machine.

Start with `board_runner`. `agent` is the program that runs there, `toolchain` compiles it and links kernels, `board`
speaks with it, `trials` is what the runner process does with a candidate.
"""
