# SPDX-License-Identifier: BSD-3-Clause
# The engine on NPUs: what needs no NPU.
if HAVE_CRITERION
endif
