// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TEMPLATE_TREE_H
#define CMD_TEMPLATE_TREE_H

// What the files of the template engine share, and no other file includes.

#include "base/strvec.h"
#include "cmd/template.h"

enum node_kind {
    NODE_LIST, // of text, actions and controls
    NODE_TEXT,
    NODE_ACTION,   // {{pipe}}
    NODE_IF,       // children: pipe, list, and the list of else if there is one
    NODE_WITH,     // the same
    NODE_RANGE,    // the same
    NODE_BREAK,    // {{break}}
    NODE_CONTINUE, // {{continue}}
    NODE_PIPE,     // children: commands; names: the variables it sets
    NODE_COMMAND,  // children: words
    NODE_FUNCTION, // text: its name
    NODE_DOT,
    NODE_NIL,
    NODE_FIELD,    // .A.B: names
    NODE_VARIABLE, // $x.A: text is "$x", names the fields
    NODE_CHAIN,    // (pipe).A: child and names
    NODE_STRING,   // text; source as it was written
    NODE_NUMBER,
    NODE_BOOL,
};

struct node {
    enum node_kind kind;
    size_t at; // offset in the template's text, for messages
    char *text, *source;
    struct strvec names;
    bool assigns; // a pipe with = and not :=
    json_int_t number;
    struct node **children;
    size_t count;
};

struct node *node_new(enum node_kind kind, size_t at);
void node_add(struct node *node, struct node *child); // which it owns from then on
void node_free(struct node *node);                    // NULL is nothing to free

// The node as Go's messages quote it.
void node_print(struct strbuf *out, const struct node *node);

enum token_kind {
    TOKEN_ERROR, // text is the message
    TOKEN_END,   // of the template
    TOKEN_TEXT,
    TOKEN_LEFT,
    TOKEN_RIGHT,
    TOKEN_SPACE,
    TOKEN_PIPE,
    TOKEN_DECLARE,
    TOKEN_ASSIGN,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_CHAR, // any other
    TOKEN_DOT,
    TOKEN_FIELD,
    TOKEN_VARIABLE,
    TOKEN_WORD, // a function's name, true or false
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_RAW_STRING,
    TOKEN_KEYWORD,
};

struct token {
    enum token_kind kind;
    size_t at;
    unsigned line;
    char *text;
};

struct tokens {
    struct token *items; // the last one is TOKEN_END or TOKEN_ERROR
    size_t count, capacity;
};

// The whole text at once, so that the parser can look ahead as far as it likes.
void tokens_scan(struct tokens *tokens, const char *text);
void tokens_release(struct tokens *tokens);

// A call of a function: words are in `args` already. The result's data must be borrowed from
// the arguments or added to `pool`, an array that lives as long as the run.
struct call {
    const struct value *args;
    size_t count;
    json_t *pool;
    struct value result;
    char reason[256]; // why it failed, without "error calling NAME: "
};

struct function {
    const char *name;
    unsigned least, most; // arguments
    const char *types;    // of them: s string, i int, l []string, a any; the last one repeats
    int (*run)(struct call *call); // NULL: `and` and `or`, which may leave arguments alone
};

const struct function *function_find(const char *name);

struct value value_new_string(json_t *pool, const char *text);
struct value value_new_number(json_t *pool, json_int_t number);
struct value value_new_bool(bool flag);

#endif
