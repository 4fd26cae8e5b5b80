// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/template_tree.h"
#include "cmd/units.h"

// Walks the tree, as Go's text/template/exec.go does.

enum { MOST_ARGUMENTS = 32 };

struct variable {
    const char *name; // borrowed from the tree
    struct value value;
};

struct run {
    const struct template *template;
    const struct node *node; // what an error is about
    struct strbuf *out;
    struct error *err;
    json_t *pool; // keeps the results of functions alive
    struct variable *variables;
    size_t count;
};

// How a list ended.
enum outcome { OUTCOME_FAILED = -1, OUTCOME_DONE, OUTCOME_BREAK, OUTCOME_CONTINUE };

static PRINTF_LIKE(2, 3) int fail(struct run *r, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);

    unsigned line = 1;
    const char *text = r->template->text, *start = text;
    for (const char *c = text; c < text + r->node->at; c++) {
        if (*c == '\n') {
            line++;
            start = c + 1;
        }
    }
    CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
    node_print(&quoted, r->node);
    const char *name = r->template->name;
    return error_set(r->err, EINVAL, "template: %s:%u:%zu: executing \"%s\" at <%s>: %s", name,
                     line, (size_t)(text + r->node->at - start), name, quoted.text, message);
}

static void push_variable(struct run *r, const char *name, struct value value)
{
    r->variables = xrealloc(r->variables, (r->count + 1) * sizeof(*r->variables));
    r->variables[r->count++] = (struct variable){name, value};
}

static struct value *find_variable(struct run *r, const char *name)
{
    for (size_t i = r->count; i-- > 0;) {
        if (strcmp(r->variables[i].name, name) == 0)
            return &r->variables[i].value;
    }
    return NULL;
}

// The parser refuses most variables that are not there; one whose declaration was jumped over is
// found out here.
static int get_variable(struct run *r, const char *name, struct value *value)
{
    const struct value *found = find_variable(r, name);
    if (!found)
        return fail(r, "undefined variable: %s", name);
    *value = *found;
    return 0;
}

static int set_variable(struct run *r, const char *name, struct value value)
{
    struct value *found = find_variable(r, name);
    if (!found)
        return fail(r, "undefined variable: %s", name);
    *found = value;
    return 0;
}

// The words of a command after its first, and what came through the pipe.
struct arguments {
    const struct node *command; // NULL: a bare word
    const struct value *final;  // NULL: nothing
};

static size_t argument_count(const struct arguments *arguments)
{
    return (arguments->command ? arguments->command->count - 1 : 0) + (arguments->final != NULL);
}

static int evaluate_pipe(struct run *r, struct value dot, const struct node *pipe,
                         struct value *result);
static int evaluate_word(struct run *r, struct value dot, const struct node *word,
                         const struct arguments *arguments, struct value *result);

static int check_type(struct run *r, char wanted, const struct node *word, struct value value)
{
    static const struct {
        char type;
        const char *name, *literal;
        const struct type *go;
    } rows[] = {
        {'s', "string", "string", &type_string},
        {'i', "int", "integer", &type_int},
        {'l', "[]string", "[]string", &type_strings},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].type != wanted)
            continue;
        if (!value.type)
            return fail(r, "invalid value; expected %s", rows[i].name);
        // A named string, like the type of State, is as good as a string here.
        if (value.type->kind == rows[i].go->kind &&
            (wanted != 'l' || value.type->of->kind == TYPE_STRING))
            return 0;
        if (word &&
            (word->kind == NODE_STRING || word->kind == NODE_NUMBER || word->kind == NODE_BOOL)) {
            CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
            node_print(&quoted, word);
            return fail(r, "expected %s; found %s", rows[i].literal, quoted.text);
        }
        return fail(r, "wrong type for value; expected %s; got %s", rows[i].name, value.type->name);
    }
    return 0;
}

// Evaluates a word that stands as an argument.
static int evaluate_argument(struct run *r, struct value dot, const struct node *word,
                             struct value *result)
{
    static const struct arguments none = {NULL, NULL};
    r->node = word;
    if (word->kind == NODE_NIL) {
        *result = (struct value){0};
        return 0;
    }
    return evaluate_word(r, dot, word, &none, result);
}

// `and` and `or` stop at the first argument that decides.
static int evaluate_logic(struct run *r, struct value dot, const struct arguments *arguments,
                          bool wanted, struct value *result)
{
    const struct node *command = arguments->command;
    for (size_t i = 1; command && i < command->count; i++) {
        if (evaluate_argument(r, dot, command->children[i], result) < 0)
            return -1;
        if (value_true(*result) == wanted)
            return 0;
    }
    if (arguments->final)
        *result = *arguments->final;
    return 0;
}

static int evaluate_function(struct run *r, struct value dot, const struct node *word,
                             const struct arguments *arguments, struct value *result)
{
    const struct function *function = function_find(word->text);
    const struct node *command = arguments->command;
    size_t count = argument_count(arguments), fixed = command ? command->count - 1 : 0;
    r->node = word;
    if (count < function->least && function->most > MOST_ARGUMENTS)
        return fail(r, "wrong number of args for %s: want at least %u got %zu", function->name,
                    function->least, fixed);
    if (count < function->least || count > function->most || count > MOST_ARGUMENTS)
        return fail(r, "wrong number of args for %s: want %u got %zu", function->name,
                    function->least, count);
    if (!function->run)
        return evaluate_logic(r, dot, arguments, strcmp(function->name, "or") == 0, result);

    struct value values[MOST_ARGUMENTS];
    struct call call = {.args = values, .count = count, .pool = r->pool};
    const char *type = function->types;
    for (size_t i = 0; i < count; i++) {
        const struct node *argument = i < fixed ? command->children[i + 1] : NULL;
        if (!argument)
            values[i] = *arguments->final;
        else if (evaluate_argument(r, dot, argument, &values[i]) < 0)
            return -1;
        if (check_type(r, *type, argument, values[i]) < 0)
            return -1;
        type += type[1] != '\0';
    }
    if (function->run(&call) < 0) {
        r->node = command ? command : word;
        return fail(r, "error calling %s: %s", function->name, call.reason);
    }
    *result = call.result;
    return 0;
}

// The methods of time.Time that make sense in one line. All our times are in UTC.
static int evaluate_time_method(struct run *r, struct value dot, const char *name,
                                struct value time, const struct arguments *arguments,
                                struct value *result)
{
    static const char *const methods[] = {"Format", "IsZero", "String", "Unix", "UTC", "Local"};
    size_t wanted = strcmp(name, "Format") == 0, i = 0;
    while (i < ARRAY_SIZE(methods) && strcmp(name, methods[i]) != 0)
        i++;
    if (i == ARRAY_SIZE(methods))
        return fail(r, "can't evaluate field %s in type %s", name, time.type->name);
    if (argument_count(arguments) != wanted)
        return fail(r, "wrong number of args for %s: want %zu got %zu", name, wanted,
                    argument_count(arguments));

    int64_t wall_ns = 0;
    clock_parse_rfc3339(value_text(time), &wall_ns);
    *result = time; // UTC and Local
    if (strcmp(name, "IsZero") == 0) {
        *result = value_new_bool(wall_ns == 0);
    } else if (strcmp(name, "Unix") == 0) {
        const int64_t year_1 = -62135596800;
        *result = value_new_number(r->pool, wall_ns ? wall_ns / 1000000000 : year_1);
    } else if (strcmp(name, "String") == 0 || wanted) {
        const struct node *word =
            wanted && !arguments->final ? arguments->command->children[1] : NULL;
        struct value layout = value_new_string(r->pool, units_default_layout);
        if (word && evaluate_argument(r, dot, word, &layout) < 0)
            return -1;
        if (wanted && !word)
            layout = *arguments->final;
        if (check_type(r, 's', word, layout) < 0)
            return -1;
        cleanup_free char *text = units_time(wall_ns, value_text(layout));
        *result = value_new_string(r->pool, text);
    }
    return 0;
}

static int evaluate_field(struct run *r, struct value dot, const char *name, struct value receiver,
                          const struct arguments *arguments, struct value *result)
{
    bool nil;
    *result = (struct value){0};
    if (!receiver.type)
        return 0; // nothing of nothing
    struct value target = value_target(receiver, &nil);
    if (target.type->kind == TYPE_TIME)
        return evaluate_time_method(r, dot, name, target, arguments, result);
    if (target.type->kind == TYPE_STRUCT && value_field(target, name, result)) {
        if (argument_count(arguments) > 0)
            return fail(r, "%s has arguments but cannot be invoked as function", name);
        return 0;
    }
    if (target.type->kind == TYPE_MAP) {
        if (argument_count(arguments) > 0)
            return fail(r, "%s is not a method but has arguments", name);
        const json_t *item = json_object_get(target.data, name);
        if (item)
            *result = (struct value){target.type->of, item};
        return 0;
    }
    struct value hollow = {receiver.type->of, NULL}, ignored;
    if (nil && hollow.type->kind == TYPE_STRUCT && value_field(hollow, name, &ignored))
        return fail(r, "nil pointer evaluating %s.%s", receiver.type->name, name);
    return fail(r, "can't evaluate field %s in type %s", name, receiver.type->name);
}

// Arguments belong to the last field.
static int evaluate_fields(struct run *r, struct value dot, const struct node *word,
                           struct value receiver, const struct arguments *arguments,
                           struct value *result)
{
    static const struct arguments none = {NULL, NULL};
    if (word->kind != NODE_CHAIN) // as Go has it
        r->node = word;
    *result = receiver;
    for (size_t i = 0; i < word->names.count; i++) {
        bool last = i + 1 == word->names.count;
        struct value from = *result;
        if (evaluate_field(r, dot, word->names.items[i], from, last ? arguments : &none, result) <
            0)
            return -1;
    }
    return 0;
}

static int refuse_arguments(struct run *r, const struct node *word,
                            const struct arguments *arguments)
{
    if (argument_count(arguments) == 0)
        return 0;
    CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
    node_print(&quoted, word);
    return fail(r, "can't give argument to non-function %s", quoted.text);
}

static int evaluate_word(struct run *r, struct value dot, const struct node *word,
                         const struct arguments *arguments, struct value *result)
{
    switch (word->kind) {
    case NODE_FIELD:
        return evaluate_fields(r, dot, word, dot, arguments, result);
    case NODE_VARIABLE:
        if (word->names.count > 0) {
            r->node = word;
            if (get_variable(r, word->text, result) < 0)
                return -1;
            return evaluate_fields(r, dot, word, *result, arguments, result);
        }
        break;
    case NODE_CHAIN:
        if (evaluate_argument(r, dot, word->children[0], result) < 0)
            return -1;
        return evaluate_fields(r, dot, word, *result, arguments, result);
    case NODE_FUNCTION:
        return evaluate_function(r, dot, word, arguments, result);
    case NODE_PIPE:
        if (refuse_arguments(r, word, arguments) < 0)
            return -1;
        return evaluate_pipe(r, dot, word, result);
    default:
        break;
    }
    r->node = word;
    if (refuse_arguments(r, word, arguments) < 0)
        return -1;
    switch (word->kind) {
    case NODE_DOT:
        *result = dot;
        return 0;
    case NODE_VARIABLE:
        return get_variable(r, word->text, result);
    case NODE_STRING:
        *result = value_new_string(r->pool, word->text);
        return 0;
    case NODE_NUMBER:
        *result = value_new_number(r->pool, word->number);
        return 0;
    case NODE_BOOL:
        *result = value_new_bool(word->number);
        return 0;
    default:
        return fail(r, "nil is not a command");
    }
}

static int evaluate_pipe(struct run *r, struct value dot, const struct node *pipe,
                         struct value *result)
{
    struct value passed = {0};
    r->node = pipe;
    for (size_t i = 0; i < pipe->count; i++) {
        const struct node *command = pipe->children[i];
        struct arguments arguments = {command, i > 0 ? &passed : NULL};
        struct value value = {0};
        if (evaluate_word(r, dot, command->children[0], &arguments, &value) < 0)
            return -1;
        passed = value;
    }
    // A range gives its variables their values itself, item by item.
    for (size_t i = 0; i < pipe->names.count; i++) {
        if (!pipe->assigns)
            push_variable(r, pipe->names.items[i], passed);
        else if (set_variable(r, pipe->names.items[i], passed) < 0)
            return -1;
    }
    *result = passed;
    return 0;
}

static enum outcome walk(struct run *r, struct value dot, const struct node *node);

static enum outcome walk_list(struct run *r, struct value dot, const struct node *list)
{
    enum outcome outcome = OUTCOME_DONE;
    for (size_t i = 0; i < list->count && outcome == OUTCOME_DONE; i++)
        outcome = walk(r, dot, list->children[i]);
    return outcome;
}

static enum outcome walk_condition(struct run *r, struct value dot, const struct node *node)
{
    struct value value;
    if (evaluate_pipe(r, dot, node->children[0], &value) < 0)
        return OUTCOME_FAILED;
    struct value inner = node->kind == NODE_WITH ? value : dot;
    if (value_true(value))
        return walk_list(r, inner, node->children[1]);
    return node->count > 2 ? walk_list(r, dot, node->children[2]) : OUTCOME_DONE;
}

static enum outcome walk_item(struct run *r, const struct node *node, struct value key,
                              struct value item)
{
    const struct strvec *names = &node->children[0]->names;
    size_t mark = r->count;
    // evaluate_pipe() has made them.
    if (names->count > 0)
        set_variable(r, names->items[names->count - 1], item);
    if (names->count > 1)
        set_variable(r, names->items[0], key);
    enum outcome outcome = walk_list(r, item, node->children[1]);
    r->count = mark;
    return outcome == OUTCOME_CONTINUE ? OUTCOME_DONE : outcome;
}

static enum outcome walk_range(struct run *r, struct value dot, const struct node *node)
{
    struct value value;
    bool nil;
    if (evaluate_pipe(r, dot, node->children[0], &value) < 0)
        return OUTCOME_FAILED;
    struct value list = value_target(value, &nil);
    enum outcome outcome = OUTCOME_DONE;
    if (value_true(list) && list.type->kind == TYPE_LIST) {
        size_t count = json_array_size(list.data);
        for (size_t i = 0; i < count && outcome == OUTCOME_DONE; i++) {
            struct value item = {list.type->of, json_array_get(list.data, i)};
            outcome = walk_item(r, node, value_new_number(r->pool, (json_int_t)i), item);
        }
    } else if (value_true(list) && list.type->kind == TYPE_MAP) {
        const char *key;
        json_t *data;
        json_object_foreach((json_t *)list.data, key, data)
        {
            struct value item = {list.type->of, data};
            outcome = walk_item(r, node, value_new_string(r->pool, key), item);
            if (outcome != OUTCOME_DONE)
                break;
        }
    } else if (list.type && !nil && list.type->kind != TYPE_LIST && list.type->kind != TYPE_MAP) {
        CLEANUP(strbuf_release) struct strbuf printed = STRBUF_INIT;
        value_print(&printed, value);
        return (enum outcome)fail(r, "range can't iterate over %s", printed.text);
    } else if (node->count > 2) {
        return walk_list(r, dot, node->children[2]);
    }
    return outcome == OUTCOME_BREAK ? OUTCOME_DONE : outcome;
}

static enum outcome walk_action(struct run *r, struct value dot, const struct node *node)
{
    const struct node *pipe = node->children[0];
    struct value value;
    bool nil;
    if (evaluate_pipe(r, dot, pipe, &value) < 0)
        return OUTCOME_FAILED;
    if (pipe->names.count == 0) {
        if (value.type)
            value_print(r->out, value_target(value, &nil));
        else
            strbuf_adds(r->out, "<no value>");
    }
    return OUTCOME_DONE;
}

static enum outcome walk(struct run *r, struct value dot, const struct node *node)
{
    size_t mark = r->count;
    enum outcome outcome = OUTCOME_DONE;
    switch (node->kind) {
    case NODE_TEXT:
        strbuf_adds(r->out, node->text);
        return OUTCOME_DONE;
    case NODE_ACTION: // its variables live on in the list
        return walk_action(r, dot, node);
    case NODE_BREAK:
        return OUTCOME_BREAK;
    case NODE_CONTINUE:
        return OUTCOME_CONTINUE;
    case NODE_RANGE:
        outcome = walk_range(r, dot, node);
        break;
    default:
        outcome = walk_condition(r, dot, node);
        break;
    }
    r->count = mark;
    return outcome;
}

int template_run(const struct template *t, struct value data, struct strbuf *out, struct error *err)
{
    struct run r = {.template = t, .node = t->root, .out = out, .err = err};
    r.pool = json_array();
    push_variable(&r, "$", data);
    enum outcome outcome = walk_list(&r, data, t->root);
    json_decref(r.pool);
    free(r.variables);
    return outcome == OUTCOME_FAILED ? -1 : 0;
}
