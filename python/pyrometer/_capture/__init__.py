"""Records a live process: sessions, passes, observers, programs under `pyrometer run`."""
