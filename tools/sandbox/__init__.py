"""The only starter of processes: commands run in here, held in by the kernel, or not at all."""
