from apnc.cli import main

main()
