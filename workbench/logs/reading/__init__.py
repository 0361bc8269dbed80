"""What files of other programs are read with: Python literals, pickles, SQLite and broken JSON; nothing is executed."""
