#!/usr/bin/env python3
"""Checks the runner of unit tests (runner.c) on a program of two files: check_runner.py PROGRAM."""

import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def run(*arguments, wish=""):
    environment = {**os.environ, "SAMPLE": wish}
    done = subprocess.run(
        [PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


class Runner(unittest.TestCase):
    def test_all(self):
        status, output = run()
        self.assertEqual(status, 0, output)
        self.assertIn("== sample_first\n", output)
        self.assertIn("test_finds_the_process_as_it_was", output)

    def test_names(self):
        listed = run("--list")[1].split()
        self.assertEqual(listed[0], "sample_first:test_changes_the_process")
        self.assertEqual(len(listed), 3)
        self.assertEqual(run("--list", "sample_s*")[1].split(), listed[2:])
        output = run("*:test_obeys")[1]
        self.assertIn("test_obeys", output)
        self.assertNotIn("sample_second", output)
        status, output = run("nothing")
        self.assertEqual(status, 1)
        self.assertIn("nothing: no such tests", output)

    def test_failure(self):
        status, output = run(wish="fail")
        self.assertEqual(status, 1)
        self.assertIn("1 failed:", output)
        self.assertRegex(output, r"sample_first +\(1 in .*sample_first\.c\)")
        self.assertIn("test_finds_the_process_as_it_was", output)

    def test_deaths_name_the_file(self):
        for wish in ("abort", "exit"):
            status, output = run(wish=wish)
            self.assertNotEqual(status, 0, wish)
            self.assertRegex(output, r"Died while running .*sample_first\.c")
            self.assertIn("test_obeys", output)


if __name__ == "__main__":
    unittest.main()
