# Each target is one script in .ci/, so that people, CI and this file run the same thing.
# PG_CONFIG chooses the PostgreSQL to build for; the default is Debian's PostgreSQL 15.
export PG_CONFIG ?= /usr/lib/postgresql/15/bin/pg_config

.PHONY: help setup demo test test-matrix test-faults fuzz sanitize bench install clean
.NOTPARALLEL:

help:
	@echo "make demo         see fastcsv work: builds it, starts a throwaway server, queries, loads and imports a 150 MB file"
	@echo "make test         format, lints, unit tests, and all tests against a server, with PostgreSQL 15"
	@echo "make test-matrix  the server tests again with PostgreSQL 16, 17 and 18"
	@echo "make test-faults  what happens when things go wrong, in full: killed processes, full disks, failing reads; fuzzing, sanitizers"
	@echo "make fuzz         fuzzes the engine for a minute a target"
	@echo "make sanitize     the engine's tests under AddressSanitizer and valgrind"
	@echo "make bench        the scanner's benchmarks, and loads and scans beside COPY and file_fdw"
	@echo "make install      build for PG_CONFIG (now $(PG_CONFIG)) and install"
	@echo "make setup        only install what the above need; they do it themselves"
	@echo "make clean        remove everything that was built or fetched"

setup:
	@.ci/setup

demo: setup
	@.ci/demo

test: setup
	@.ci/test

test-matrix:
	@.ci/setup matrix
	@.ci/test-matrix

test-faults: setup
	@.ci/test-faults

fuzz: setup
	@.ci/fuzz

sanitize: setup
	@.ci/sanitize

bench: setup
	@.ci/bench

install: setup
	@.ci/build "$(PG_CONFIG)"
	@.ci/install "$(PG_CONFIG)"

clean:
	@echo "Removing what was built or fetched: target/"
	@rm -rf target
