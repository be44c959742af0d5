"""How any command is declared and run: words, files, texts for the terminal."""
