"""FIFOs, and who writes to them."""
import os
import threading
import time


class Fifo:
    """A FIFO that somebody writes a file into as soon as it is opened for reading."""

    def __init__(self, path, content):
        self.path, self.content, self.is_over = path, content, False
        os.mkfifo(path)
        os.chmod(path, 0o644)
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        while not self.is_over:
            try:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.0005)  # nobody reads yet
                continue
            os.set_blocking(descriptor, True)
            try:
                with open(descriptor, "wb", buffering=0) as file:
                    file.write(self.content)
            except BrokenPipeError:
                pass  # whoever read has seen enough
            return

    def end(self):
        self.is_over = True
        self.thread.join()
        os.unlink(self.path)
