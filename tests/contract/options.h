// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_CONTRACT_OPTIONS_H
#define TESTS_CONTRACT_OPTIONS_H

#include "base/error.h"
#include "base/strvec.h"

// Whether the words argv[from..to) are what the tool of this .options file takes. EINVAL with
// what it would not take. The form of the files is told in krunkit-1.2.1.options.
int options_check(const char *file, const struct strvec *argv, size_t from, size_t to,
                  struct error *err);

#endif
