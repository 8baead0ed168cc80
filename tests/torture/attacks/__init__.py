"""One module for each attack, which defines ``ATTACK``; a new one needs no other change."""
