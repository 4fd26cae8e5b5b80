// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TABLE_H
#define CMD_TABLE_H

// Aligns text whose cells end in TABs, as Go's tabwriter does with podman's settings: a column
// is at least 12 wide and has 2 blanks after its widest cell; what stands after the last TAB of
// a line is in no column. A line without a cell in a column ends that column. The caller frees.
char *table_align(const char *text);

#endif
