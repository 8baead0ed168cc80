import os
import sys

# spark-submit runs this file as a script, so that inspect.py beside it would shadow the standard library's.
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]

from apnc.cli import main  # noqa: E402

main()
