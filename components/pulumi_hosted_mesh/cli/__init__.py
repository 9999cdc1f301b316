"""The console command `hosted-mesh`; `command` has its verbs."""
