// How little a host in C needs: it brings one batch home with the component, by wasmtime's C API, and prints what became of each
// document. Where runtime, headers and server come from is left to `run`.
//
// A value that is "moved" belongs to what it was moved into, and is freed with it. What makes the whole impossible ends the
// process, which frees the rest.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasmtime.h>

typedef wasmtime_component_val_t value_t;

// What the component lives in. Of the outside it has clocks, random numbers and HTTP; no files, no environment.
typedef struct {
    wasm_engine_t *engine;
    wasmtime_component_t *component;
    wasmtime_component_linker_t *linker;
    wasmtime_store_t *store;
    wasmtime_component_instance_t instance;
} sandbox_t;

enum { DOCUMENTS = 20, ALL_ANSWERED = 0, FAILED = 1, USAGE = 2 };

static const char ANALYZER[] = "becalm:batch/analyzer@0.2.0";

static void write_text(FILE *to, const wasm_name_t *text) {
    fwrite(text->data, 1, text->size, to);
}

static bool is(const wasm_name_t *text, const char *wanted) {
    return text->size == strlen(wanted) && memcmp(text->data, wanted, text->size) == 0;
}

static _Noreturn void give_up(const char *what, const char *which) {
    fprintf(stderr, "error: %s %s\n", what, which);
    exit(FAILED);
}

static void require(wasmtime_error_t *error) {
    if (error == NULL) return;
    wasm_name_t message;
    wasmtime_error_message(error, &message);
    wasmtime_error_delete(error);
    fputs("error: ", stderr);
    write_text(stderr, &message);
    fputc('\n', stderr);
    wasm_name_delete(&message);
    exit(FAILED);
}

static wasm_name_t name(const char *text) {
    wasm_name_t made;
    wasm_name_new_from_string(&made, text);
    return made;
}

static value_t string(const char *text) {
    return (value_t){.kind = WASMTIME_COMPONENT_STRING, .of.string = name(text)};
}

// Moves `payload` into the case.
static value_t variant(const char *discriminant, value_t payload) {
    wasmtime_component_valvariant_t made = {name(discriminant), wasmtime_component_val_new(&payload)};
    return (value_t){.kind = WASMTIME_COMPONENT_VARIANT, .of.variant = made};
}

static value_t *field(const value_t *record, const char *wanted) {
    for (size_t i = 0; i < record->of.record.size; i++) {
        wasmtime_component_valrecord_entry_t *entry = &record->of.record.data[i];
        if (is(&entry->name, wanted)) return &entry->val;
    }
    give_up("there is no field", wanted);
}

// Moves `with` to where another value was.
static void replace(value_t *old, value_t with) {
    wasmtime_component_val_delete(old);
    *old = with;
}

static value_t document(int number) {
    char id[32], text[64];
    snprintf(id, sizeof id, "document-%d", number);
    snprintf(text, sizeof text, "This is the text of document %d.", number);
    wasmtime_component_valrecord_entry_t entries[] = {{name("id"), string(id)}, {name("input"), variant("text", string(text))}};
    value_t made = {.kind = WASMTIME_COMPONENT_RECORD};
    wasmtime_component_valrecord_new(&made.of.record, 2, entries);
    return made;
}

static value_t all_documents(void) {
    value_t documents[DOCUMENTS];
    for (int i = 0; i < DOCUMENTS; i++) documents[i] = document(i + 1);
    value_t made = {.kind = WASMTIME_COMPONENT_LIST};
    wasmtime_component_vallist_new(&made.of.list, DOCUMENTS, documents);
    return made;
}

static wasm_byte_vec_t read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) give_up("cannot read", path);
    long size = ftell(file);
    if (size < 0) give_up("cannot read", path);
    rewind(file);
    wasm_byte_vec_t bytes;
    wasm_byte_vec_new_uninitialized(&bytes, (size_t)size);
    if (fread(bytes.data, 1, bytes.size, file) != bytes.size) give_up("cannot read", path);
    fclose(file);
    return bytes;
}

static sandbox_t open_sandbox(const char *component_file) {
    sandbox_t made = {.engine = wasm_engine_new()};
    wasm_byte_vec_t bytes = read_file(component_file);
    require(wasmtime_component_new(made.engine, (const uint8_t *)bytes.data, bytes.size, &made.component));
    wasm_byte_vec_delete(&bytes);

    made.linker = wasmtime_component_linker_new(made.engine);
    require(wasmtime_component_linker_add_wasip2(made.linker));
    require(wasmtime_component_linker_add_wasi_http(made.linker));

    made.store = wasmtime_store_new(made.engine, NULL, NULL);
    wasmtime_context_t *context = wasmtime_store_context(made.store);
    require(wasmtime_context_set_wasi(context, wasi_config_new()));
    wasmtime_context_set_wasi_http(context);
    require(wasmtime_component_linker_instantiate(made.linker, context, made.component, &made.instance));
    return made;
}

static void close_sandbox(sandbox_t *sandbox) {
    wasmtime_store_delete(sandbox->store);
    wasmtime_component_linker_delete(sandbox->linker);
    wasmtime_component_delete(sandbox->component);
    wasm_engine_delete(sandbox->engine);
}

// The arguments stay with the caller, who gets the result too. Blocks until the component returns.
static value_t call(const sandbox_t *sandbox, const char *function, const value_t *arguments, size_t count) {
    wasmtime_context_t *context = wasmtime_store_context(sandbox->store);
    wasmtime_component_export_index_t *analyzer, *index;
    analyzer = wasmtime_component_get_export_index(sandbox->component, NULL, ANALYZER, strlen(ANALYZER));
    if (analyzer == NULL) give_up("the component does not export", ANALYZER);
    index = wasmtime_component_get_export_index(sandbox->component, analyzer, function, strlen(function));
    wasmtime_component_func_t found;
    if (index == NULL || !wasmtime_component_instance_get_func(&sandbox->instance, context, index, &found))
        give_up("the component does not export", function);
    value_t result = {.kind = WASMTIME_COMPONENT_BOOL};
    require(wasmtime_component_func_call(&found, context, arguments, count, &result, 1));
    wasmtime_component_export_index_delete(index);
    wasmtime_component_export_index_delete(analyzer);
    return result;
}

// Prints `id: text`, or `id: failed: message`, or `id: postponed: message`; says whether it was answered.
static bool print_outcome(const value_t *outcome) {
    const wasmtime_component_valvariant_t *verdict = &field(outcome, "verdict")->of.variant;
    bool answered = is(&verdict->discriminant, "answered");
    write_text(stdout, &field(outcome, "id")->of.string);
    fputs(": ", stdout);
    if (answered) {
        // Absent where the model gave none, such as for tool calls.
        const value_t *text = field(verdict->val, "text")->of.option;
        if (text != NULL) write_text(stdout, &text->of.string);
    } else {
        write_text(stdout, &verdict->discriminant);
        fputs(": ", stdout);
        write_text(stdout, &field(verdict->val, "message")->of.string);
    }
    fputc('\n', stdout);
    return answered;
}

// A report's outcomes, or the setting that cannot be used.
static bool print_result(const wasmtime_component_valresult_t *result) {
    if (!result->is_ok) {
        fputs("error: ", stderr);
        write_text(stderr, &field(result->val, "field")->of.string);
        fputs(": ", stderr);
        write_text(stderr, &field(result->val, "message")->of.string);
        fputc('\n', stderr);
        return false;
    }
    const wasmtime_component_vallist_t *outcomes = &field(result->val, "outcomes")->of.list;
    size_t answered = 0;
    for (size_t i = 0; i < outcomes->size; i++) answered += print_outcome(&outcomes->data[i]);
    return fflush(stdout) == 0 && answered == DOCUMENTS;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fputs("usage: host COMPONENT BASE-URL\n", stderr);
        return USAGE;
    }
    sandbox_t sandbox = open_sandbox(arguments[1]);

    value_t settings = call(&sandbox, "default-settings", NULL, 0);
    replace(field(field(&settings, "endpoint"), "base-url"), string(arguments[2]));
    replace(field(field(&settings, "chat"), "model"), string("some-model"));

    value_t batch[] = {all_documents(), settings};
    value_t result = call(&sandbox, "analyze-batch", batch, 2);
    bool all_answered = print_result(&result.of.result);

    wasmtime_component_val_delete(&result);
    wasmtime_component_val_delete(&batch[0]);
    wasmtime_component_val_delete(&batch[1]);
    close_sandbox(&sandbox);
    return all_answered ? ALL_ANSWERED : FAILED;
}
