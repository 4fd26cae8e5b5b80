// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/template_tree.h"
#include "cmd/text.h"

// Tokens -> tree, by recursive descent as Go's text/template/parse/parse.go does it, so that its
// errors come out in the same places.

enum { DEEPEST = 200 }; // controls and parentheses within each other

struct parser {
    const char *name; // of the template
    struct tokens tokens;
    size_t next; // token
    struct strvec variables;
    unsigned ranges, depth;
    struct error *err;
};

static void free_node_pointer(struct node **node)
{
    node_free(*node);
}

#define cleanup_node CLEANUP(free_node_pointer)

static struct node *steal_node(struct node **node)
{
    struct node *stolen = *node;
    *node = NULL;
    return stolen;
}

static const struct token *peek(const struct parser *p)
{
    return &p->tokens.items[p->next];
}

static const struct token *take(struct parser *p)
{
    const struct token *token = peek(p);
    if (p->next + 1 < p->tokens.count)
        p->next++;
    return token;
}

static const struct token *peek_word(struct parser *p)
{
    while (peek(p)->kind == TOKEN_SPACE)
        take(p);
    return peek(p);
}

static const struct token *take_word(struct parser *p)
{
    peek_word(p);
    return take(p);
}

// Returns NULL, for `return fail(...)` in functions that make nodes.
static PRINTF_LIKE(2, 3) void *fail(struct parser *p, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    error_set(p->err, EINVAL, "template: %s:%u: %s", p->name, peek(p)->line, message);
    return NULL;
}

static void *unexpected(struct parser *p, const struct token *token, const char *context)
{
    CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
    switch (token->kind) {
    case TOKEN_ERROR:
        return fail(p, "%s", token->text);
    case TOKEN_END:
        return fail(p, "unexpected EOF");
    case TOKEN_DOT:
    case TOKEN_KEYWORD:
        return fail(p, "unexpected <%s> in %s", token->text, context);
    default:
        break;
    }
    cleanup_free char *start = xstrndup(token->text, strnlen(token->text, 10));
    text_quote(&quoted, start);
    return fail(p, "unexpected %s%s in %s", quoted.text, strlen(token->text) > 10 ? "..." : "",
                context);
}

static bool is_keyword(const struct token *token, const char *word)
{
    return token->kind == TOKEN_KEYWORD && strcmp(token->text, word) == 0;
}

static void forget_variables(struct parser *p, size_t count)
{
    while (p->variables.count > count)
        free(p->variables.items[--p->variables.count]);
}

static struct node *parse_pipe(struct parser *p, const char *context, enum token_kind end);
static struct node *parse_list(struct parser *p, const struct token **end);

static struct node *parse_string(struct parser *p, const struct token *token)
{
    cleanup_free char *text = text_unquote(token->text);
    if (!text)
        return fail(p, "invalid syntax");
    struct node *node = node_new(NODE_STRING, token->at);
    node->text = steal_string(&text);
    node->source = xstrdup(token->text);
    return node;
}

static struct node *parse_variable(struct parser *p, const struct token *token)
{
    if (!strvec_contains(&p->variables, token->text))
        return fail(p, "undefined variable \"%s\"", token->text);
    struct node *node = node_new(NODE_VARIABLE, token->at);
    node->text = xstrdup(token->text);
    return node;
}

static struct node *parse_word(struct parser *p, const struct token *token)
{
    bool yes = strcmp(token->text, "true") == 0;
    if (yes || strcmp(token->text, "false") == 0) {
        struct node *node = node_new(NODE_BOOL, token->at);
        node->number = yes;
        return node;
    }
    if (!function_find(token->text))
        return fail(p, "function \"%s\" not defined", token->text);
    struct node *node = node_new(NODE_FUNCTION, token->at);
    node->text = xstrdup(token->text);
    return node;
}

static struct node *parse_number(const struct token *token)
{
    uint64_t number = 0;
    bool negative = *token->text == '-';
    text_parse_uint(token->text + (negative || *token->text == '+'), &number);
    struct node *node = node_new(NODE_NUMBER, token->at);
    node->number = negative ? -(json_int_t)number : (json_int_t)number;
    node->source = xstrdup(token->text);
    return node;
}

static struct node *parse_parentheses(struct parser *p)
{
    if (++p->depth > DEEPEST)
        return fail(p, "max expression depth exceeded");
    struct node *pipe = parse_pipe(p, "parenthesized pipeline", TOKEN_CLOSE);
    p->depth--;
    return pipe;
}

// A word without the fields that may follow. NULL with *none set: what follows is no word.
static struct node *parse_term(struct parser *p, bool *none)
{
    const struct token *token = peek_word(p);
    *none = false;
    struct node *node;
    switch (token->kind) {
    case TOKEN_WORD:
        return parse_word(p, take(p));
    case TOKEN_DOT:
        return node_new(NODE_DOT, take(p)->at);
    case TOKEN_VARIABLE:
        return parse_variable(p, take(p));
    case TOKEN_FIELD:
        node = node_new(NODE_FIELD, take(p)->at);
        strvec_push(&node->names, token->text + 1);
        return node;
    case TOKEN_NUMBER:
        return parse_number(take(p));
    case TOKEN_STRING:
    case TOKEN_RAW_STRING:
        return parse_string(p, take(p));
    case TOKEN_OPEN:
        take(p);
        return parse_parentheses(p);
    default:
        if (is_keyword(token, "nil"))
            return node_new(NODE_NIL, take(p)->at);
        *none = true;
        return NULL;
    }
}

static struct node *parse_operand(struct parser *p, bool *none)
{
    cleanup_node struct node *node = parse_term(p, none);
    if (!node || peek(p)->kind != TOKEN_FIELD)
        return steal_node(&node);

    size_t at = peek(p)->at;
    switch (node->kind) {
    case NODE_FIELD:
    case NODE_VARIABLE:
        node->at = at; // as Go has it
        break;
    case NODE_PIPE:
    case NODE_FUNCTION: {
        struct node *chain = node_new(NODE_CHAIN, at);
        node_add(chain, steal_node(&node));
        node = chain;
        break;
    }
    default: {
        CLEANUP(strbuf_release) struct strbuf source = STRBUF_INIT, quoted = STRBUF_INIT;
        node_print(&source, node);
        text_quote(&quoted, source.text);
        return fail(p, "unexpected . after term %s", quoted.text);
    }
    }
    while (peek(p)->kind == TOKEN_FIELD)
        strvec_push(&node->names, take(p)->text + 1);
    return steal_node(&node);
}

// Words up to a '|', which is taken, or to what ends the pipe, which is left.
static struct node *parse_command(struct parser *p)
{
    cleanup_node struct node *command = node_new(NODE_COMMAND, peek_word(p)->at);
    for (;;) {
        bool none;
        struct node *operand = parse_operand(p, &none);
        if (operand)
            node_add(command, operand);
        else if (!none)
            return NULL;
        const struct token *token = peek(p);
        if (token->kind == TOKEN_RIGHT || token->kind == TOKEN_CLOSE)
            break;
        take(p);
        if (token->kind == TOKEN_PIPE)
            break;
        if (token->kind != TOKEN_SPACE)
            return unexpected(p, token, "operand");
    }
    if (command->count == 0)
        return fail(p, "empty command");
    return steal_node(&command);
}

static struct node *check_pipe(struct parser *p, struct node *pipe, const char *context)
{
    if (pipe->count == 0)
        return fail(p, "missing value for %s", context);
    for (size_t i = 1; i < pipe->count; i++) {
        switch (pipe->children[i]->children[0]->kind) {
        case NODE_BOOL:
        case NODE_DOT:
        case NODE_NIL:
        case NODE_NUMBER:
        case NODE_STRING:
            return fail(p, "non executable command in pipeline stage %zu", i + 1);
        default:
            break;
        }
    }
    return pipe;
}

// `$x :=`, `$x =` and, for range, `$i, $x :=` at the head of a pipe.
static bool parse_declarations(struct parser *p, struct node *pipe, const char *context)
{
    while (peek_word(p)->kind == TOKEN_VARIABLE) {
        size_t before = p->next;
        const struct token *variable = take(p), *after = peek_word(p);
        bool comma = after->kind == TOKEN_CHAR && strcmp(after->text, ",") == 0;
        if (after->kind != TOKEN_DECLARE && after->kind != TOKEN_ASSIGN && !comma) {
            p->next = before; // an ordinary word
            return true;
        }
        take(p);
        pipe->assigns = after->kind == TOKEN_ASSIGN;
        strvec_push(&pipe->names, variable->text);
        strvec_push(&p->variables, variable->text);
        if (!comma)
            return true;
        if (strcmp(context, "range") != 0 || pipe->names.count >= 2)
            return fail(p, "too many declarations in %s", context);
        if (peek_word(p)->kind != TOKEN_VARIABLE)
            return fail(p, "range can only initialize variables");
    }
    return true;
}

static struct node *parse_pipe(struct parser *p, const char *context, enum token_kind end)
{
    cleanup_node struct node *pipe = node_new(NODE_PIPE, peek_word(p)->at);
    if (!parse_declarations(p, pipe, context))
        return NULL;
    for (;;) {
        const struct token *token = peek_word(p);
        if (token->kind == end) {
            if (!check_pipe(p, pipe, context))
                return NULL;
            take(p);
            return steal_node(&pipe);
        }
        switch (token->kind) {
        case TOKEN_WORD:
        case TOKEN_DOT:
        case TOKEN_VARIABLE:
        case TOKEN_FIELD:
        case TOKEN_NUMBER:
        case TOKEN_STRING:
        case TOKEN_RAW_STRING:
        case TOKEN_OPEN:
            break;
        default:
            if (!is_keyword(token, "nil"))
                return unexpected(p, token, context);
        }
        struct node *command = parse_command(p);
        if (!command)
            return NULL;
        node_add(pipe, command);
    }
}

// The keyword has been taken; takes everything up to the matching {{end}}.
static struct node *parse_control(struct parser *p, enum node_kind kind, const char *word,
                                  size_t at)
{
    cleanup_node struct node *control = node_new(kind, at);
    size_t variables = p->variables.count;
    if (++p->depth > DEEPEST)
        return fail(p, "max expression depth exceeded");
    struct node *pipe = parse_pipe(p, word, TOKEN_RIGHT);
    if (!pipe)
        return NULL;
    node_add(control, pipe);

    p->ranges += kind == NODE_RANGE;
    const struct token *end;
    struct node *list = parse_list(p, &end);
    p->ranges -= kind == NODE_RANGE;
    if (!list)
        return NULL;
    node_add(control, list);

    if (is_keyword(end, "else")) {
        const struct token *next = peek_word(p);
        struct node *other;
        if (is_keyword(next, word) && kind != NODE_RANGE) {
            // {{else if}} is {{else}}{{if}} with one {{end}} for both.
            take(p);
            other = node_new(NODE_LIST, next->at);
            struct node *inner = parse_control(p, kind, word, next->at);
            if (!inner) {
                node_free(other);
                return NULL;
            }
            node_add(other, inner);
        } else {
            if (take_word(p)->kind != TOKEN_RIGHT)
                return unexpected(p, next, "else");
            other = parse_list(p, &end);
            if (!other)
                return NULL;
            if (is_keyword(end, "else")) {
                node_free(other);
                return fail(p, "expected end; found {{else}}");
            }
        }
        node_add(control, other);
    }
    p->depth--;
    forget_variables(p, variables);
    return steal_node(&control);
}

static struct node *parse_break(struct parser *p, enum node_kind kind, const struct token *token)
{
    if (p->ranges == 0)
        return fail(p, "{{%s}} outside {{range}}", token->text);
    const struct token *next = take_word(p);
    if (next->kind != TOKEN_RIGHT)
        return unexpected(p, next, token->text);
    return node_new(kind, token->at);
}

// After "{{".
static struct node *parse_action(struct parser *p)
{
    static const struct {
        const char *word;
        enum node_kind kind;
    } controls[] = {{"if", NODE_IF}, {"range", NODE_RANGE}, {"with", NODE_WITH}};
    const struct token *token = peek_word(p);
    for (size_t i = 0; i < ARRAY_SIZE(controls); i++) {
        if (is_keyword(token, controls[i].word)) {
            take(p);
            return parse_control(p, controls[i].kind, controls[i].word, token->at);
        }
    }
    if (is_keyword(token, "break") || is_keyword(token, "continue")) {
        take(p);
        return parse_break(p, *token->text == 'b' ? NODE_BREAK : NODE_CONTINUE, token);
    }
    cleanup_node struct node *action = node_new(NODE_ACTION, token->at);
    struct node *pipe = parse_pipe(p, "command", TOKEN_RIGHT);
    if (!pipe)
        return NULL;
    node_add(action, pipe);
    return steal_node(&action);
}

// Up to the {{end}} or {{else}} that closes it, or to the end of the text; *end is its keyword
// (of {{end}}, the "}}" has been taken too). `end` NULL: the whole template.
static struct node *parse_list(struct parser *p, const struct token **end)
{
    cleanup_node struct node *list = node_new(NODE_LIST, peek(p)->at);
    for (;;) {
        const struct token *token = take(p);
        struct node *node;
        if (token->kind == TOKEN_TEXT) {
            node = node_new(NODE_TEXT, token->at);
            node->text = xstrdup(token->text);
        } else if (token->kind == TOKEN_LEFT) {
            const struct token *word = peek_word(p);
            bool closes = is_keyword(word, "end"), other = is_keyword(word, "else");
            if ((closes || other) && !end)
                return fail(p, "unexpected {{%s}}", word->text);
            if (closes || other) {
                take(p);
                *end = word;
                const struct token *right = closes ? take_word(p) : NULL;
                if (right && right->kind != TOKEN_RIGHT)
                    return unexpected(p, right, "end");
                return steal_node(&list);
            }
            node = parse_action(p);
        } else if (token->kind == TOKEN_END && !end) {
            return steal_node(&list);
        } else {
            return unexpected(p, token, "input");
        }
        if (!node)
            return NULL;
        node_add(list, node);
    }
}

int template_parse(struct template *t, const char *name, const char *text, struct error *err)
{
    struct parser p = {.name = name, .err = err};
    tokens_scan(&p.tokens, text);
    strvec_push(&p.variables, "$");
    struct node *root = parse_list(&p, NULL);
    tokens_release(&p.tokens);
    strvec_release(&p.variables);
    if (!root)
        return -1;
    *t = (struct template){xstrdup(name), xstrdup(text), root};
    return 0;
}

void template_release(struct template *t)
{
    free(t->name);
    free(t->text);
    node_free(t->root);
    *t = (struct template)TEMPLATE_INIT;
}
