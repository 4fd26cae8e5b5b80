// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/template_tree.h"

#include <stdlib.h>

#include "base/alloc.h"

struct node *node_new(enum node_kind kind, size_t at)
{
    struct node *node = xcalloc(1, sizeof(*node));
    node->kind = kind;
    node->at = at;
    return node;
}

void node_add(struct node *node, struct node *child)
{
    node->children = xrealloc(node->children, (node->count + 1) * sizeof(struct node *));
    node->children[node->count++] = child;
}

void node_free(struct node *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->count; i++)
        node_free(node->children[i]);
    free(node->children);
    free(node->text);
    free(node->source);
    strvec_release(&node->names);
    free(node);
}

static void print_children(struct strbuf *out, const struct node *node, const char *separator)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct node *child = node->children[i];
        bool parentheses = child->kind == NODE_PIPE;
        strbuf_adds(out, i ? separator : "");
        strbuf_adds(out, parentheses ? "(" : "");
        node_print(out, child);
        strbuf_adds(out, parentheses ? ")" : "");
    }
}

void node_print(struct strbuf *out, const struct node *node)
{
    switch (node->kind) {
    case NODE_PIPE:
        for (size_t i = 0; i < node->names.count; i++)
            strbuf_addf(out, "%s%s", i ? ", " : "", node->names.items[i]);
        if (node->names.count)
            strbuf_adds(out, node->assigns ? " = " : " := ");
        print_children(out, node, " | ");
        return;
    case NODE_COMMAND:
        print_children(out, node, " ");
        return;
    case NODE_DOT:
        strbuf_adds(out, ".");
        return;
    case NODE_NIL:
        strbuf_adds(out, "nil");
        return;
    case NODE_BOOL:
        strbuf_adds(out, node->number ? "true" : "false");
        return;
    case NODE_STRING:
    case NODE_NUMBER:
        strbuf_adds(out, node->source);
        return;
    case NODE_FUNCTION:
        strbuf_adds(out, node->text);
        return;
    case NODE_CHAIN:
        print_children(out, node, "");
        break;
    case NODE_VARIABLE:
        strbuf_adds(out, node->text);
        break;
    case NODE_FIELD:
        break;
    default: // controls are never quoted
        return;
    }
    for (size_t i = 0; i < node->names.count; i++)
        strbuf_addf(out, ".%s", node->names.items[i]);
}
