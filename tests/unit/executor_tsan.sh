#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs executor_tsan without address randomisation, with which older runtimes of ThreadSanitizer cannot map their shadow.
set -u
exec setarch "$(uname -m)" -R ./executor_tsan
