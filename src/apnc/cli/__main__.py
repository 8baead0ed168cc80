import os
import sys

# spark-submit runs this file as a script, and would find inspect.py beside it in place of Python's own.
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]

from apnc.cli import main  # noqa: E402

main()
