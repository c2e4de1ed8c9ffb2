/* Builds the module tree from the dotted paths of layers and the module stacks of nodes. */
#include "graph/model.h"

#include "base/containers/buf.h"
#include "graph/exported.h"
#include <string.h>

/* Maximum number of ancestors: a path of a million dots must not take quadratic time. */
enum { MAX_ANCESTORS = 256, MAX_ANCESTOR_BYTES = 1024 };

static uint32_t add_module(pyro_model *model, const char *path, size_t length, uint32_t parent)
{
    uint32_t id = pyro_intern_add_ordered(&model->module_paths, &model->module_order, path, length);
    if (id == PYRO_INTERN_NONE)
        return PYRO_NO_VALUE;
    if (id < model->module_count)
        return id;
    if (!pyro_grow(&model->modules, &model->module_capacity, id + 1u, sizeof *model->modules))
        return PYRO_NO_VALUE;
    model->modules[id] = (pyro_module){
        .path = pyro_intern_text(&model->module_paths, id),
        .class_name = "",
        .parent = parent,
        .depth = id == 0 ? 0 : model->modules[parent].depth + 1,
    };
    model->module_count = id + 1u;
    return id;
}

/* Most modules have a parent that is already there. */
static uint32_t find_parent(pyro_model *model, const char *path, size_t length)
{
    const char *dot = length <= MAX_ANCESTOR_BYTES ? memrchr(path, '.', length) : NULL;
    if (!dot || dot == path)
        return PYRO_NO_VALUE;
    uint32_t found = pyro_intern_find_ordered(&model->module_paths, &model->module_order, path,
                                              (size_t)(dot - path));
    return found < model->module_count && model->modules[found].depth < MAX_ANCESTORS
               ? found
               : PYRO_NO_VALUE;
}

uint32_t pyro_model_module(pyro_model *model, const char *path, size_t length)
{
    uint32_t parent = find_parent(model, path, length);
    if (parent != PYRO_NO_VALUE)
        return add_module(model, path, length, parent);
    uint32_t found = pyro_intern_find_ordered(&model->module_paths, &model->module_order, path,
                                              length);
    if (found != PYRO_INTERN_NONE && found < model->module_count)
        return found;
    uint32_t module = add_module(model, "", 0, 0);
    size_t depth_left = MAX_ANCESTORS;
    for (size_t end = 1; module != PYRO_NO_VALUE && end <= length; end++)
        if (end == length ||
            (path[end] == '.' && end <= MAX_ANCESTOR_BYTES && depth_left && depth_left--))
            module = add_module(model, path, end, module);
    return module;
}

/* The name after the last dot of "torch.nn.modules.conv.Conv2d". */
static const char *short_class(const char *text, size_t length, size_t *short_length)
{
    const char *begin = text;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '.')
            begin = text + i + 1;
    *short_length = length - (size_t)(begin - text);
    return begin;
}

static bool begins(const char *text, size_t length, const char *prefix)
{
    size_t prefix_length = strlen(prefix);
    return length >= prefix_length && !memcmp(text, prefix, prefix_length);
}

static const char strict_self[] = "L['self']", self_key[] = "L__self__";

/*
 * Strict export writes paths as Python expressions, "L['self'].layer1[0]._modules['conv1']"; the
 * plain form is "layer1.0.conv1". Other paths are already plain, whatever their characters.
 */
static void add_plain_path(pyro_buf *plain, const char *path, size_t length)
{
    static const char modules[] = "_modules[";
    const char *at = path, *end = path + length;
    for (at += sizeof strict_self - 1; at < end; at++) {
        if (begins(at, (size_t)(end - at), modules))
            at += sizeof modules - 2;
        if (*at == '[' || *at == '.') {
            if (plain->length && plain->data[plain->length - 1] != '.')
                pyro_buf_addc(plain, '.');
        } else if (*at != ']' && *at != '\'' && *at != '"') {
            pyro_buf_addc(plain, *at);
        }
    }
    if (plain->length && plain->data[plain->length - 1] == '.')
        plain->data[--plain->length] = 0;
}

/* "relu@1" is the second call of "relu". */
static size_t without_call_number(const char *path, size_t length)
{
    size_t end = length;
    while (end && path[end - 1] >= '0' && path[end - 1] <= '9')
        end--;
    return end && end < length && path[end - 1] == '@' ? end - 1 : length;
}

static uint32_t module_of_path(pyro_model *model, const char *path, size_t length)
{
    if (!begins(path, length, strict_self))
        return pyro_model_module(model, path, without_call_number(path, length));
    pyro_buf plain = PYRO_BUF_INIT;
    add_plain_path(&plain, path, length);
    const char *text = plain.data ? plain.data : "";
    uint32_t module = plain.failed
                          ? PYRO_NO_VALUE
                          : pyro_model_module(model, text, without_call_number(text, plain.length));
    pyro_buf_free(&plain);
    return module;
}

/* The comma after the key: the first one, unless the key repeats a path that contains commas. */
static const char *find_key_end(const char *entry, const char *class_begin)
{
    size_t length = (size_t)(class_begin - entry), prefix = sizeof self_key - 1;
    if (begins(entry, length, self_key) && length > prefix && (length - prefix) % 2 == 1) {
        size_t path_length = (length - prefix - 1) / 2;
        const char *middle = entry + prefix + path_length;
        if (*middle == ',' && !memcmp(entry + prefix, middle + 1, path_length))
            return middle;
    }
    return memchr(entry, ',', length);
}

/* Adds a call of a module inside the call `call`, which becomes the new one. False: no memory. */
static bool add_call(pyro_model *model, uint32_t module, uint32_t *call)
{
    if (model->call_count >= PYRO_NO_VALUE ||
        !pyro_grow(&model->calls, &model->call_capacity, model->call_count + 1,
                   sizeof *model->calls))
        return false;
    model->calls[model->call_count] = (pyro_module_call){module, *call};
    *call = (uint32_t)model->call_count++;
    return true;
}

/*
 * Keys identify calls: "L__self__act@1" is the second call of "act". The key of a first call is that
 * of its module (`is_plain`) and needs no table.
 */
static bool enter_call(pyro_model *model, const char *key, size_t length, bool is_plain,
                       uint32_t module, uint32_t *call)
{
    if (is_plain) {
        uint32_t known = model->modules[module].plain_call;
        if (known)
            *call = known - 1;
        else if (!add_call(model, module, call))
            return false;
        model->modules[module].plain_call = *call + 1;
        return true;
    }
    size_t keys = model->call_keys.count;
    uint32_t id = pyro_intern_add(&model->call_keys, key, length);
    if (id == PYRO_INTERN_NONE)
        return false;
    if (id == keys) {
        if (!pyro_grow(&model->key_calls, &model->key_call_capacity, id + 1u,
                       sizeof *model->key_calls) ||
            !add_call(model, module, call))
            return false;
        model->key_calls[id] = *call;
    }
    *call = model->key_calls[id];
    return true;
}

/* True for the key "L__self__" and the module's path, as the entry writes it before the class. */
static bool is_plain_key(const pyro_model *model, uint32_t module, const char *entry,
                         const char *key_end, const char *class_begin)
{
    size_t prefix = sizeof self_key - 1, path_length = (size_t)(class_begin - key_end - 1);
    return (size_t)(key_end - entry) == prefix + path_length && !memcmp(entry, self_key, prefix) &&
           !memcmp(entry + prefix, key_end + 1, path_length) &&
           model->module_paths.entries[module].length == path_length;
}

/*
 * Reads one "key,path,class" of a stack; the class follows the last comma. `call` is the enclosing
 * call. Built-in models omit the keys, and enclosing modules that an earlier stack has listed.
 */
static uint32_t module_of_entry(pyro_model *model, const char *entry, size_t length, uint32_t *call)
{
    const char *end = entry + length, *class_begin = memrchr(entry, ',', length);
    const char *key_end = class_begin ? find_key_end(entry, class_begin) : NULL;
    if (!key_end)
        return 0;
    uint32_t module = module_of_path(model, key_end + 1, (size_t)(class_begin - key_end - 1));
    if (module == PYRO_NO_VALUE)
        return module;
    model->modules[module].is_called = true;
    if (key_end > entry &&
        !enter_call(model, entry, (size_t)(key_end - entry),
                    is_plain_key(model, module, entry, key_end, class_begin), module, call))
        return PYRO_NO_VALUE;
    if (!model->modules[module].class_name[0]) {
        size_t short_length, class_length = (size_t)(end - class_begin - 1);
        model->modules[module].drops_masks = pyro_exported_drops_masks(class_begin + 1,
                                                                       class_length);
        class_begin = short_class(class_begin + 1, class_length, &short_length);
        uint32_t id = pyro_intern_add(&model->class_names, class_begin, short_length);
        if (id == PYRO_INTERN_NONE)
            return PYRO_NO_VALUE;
        model->modules[module].class_name = pyro_intern_text(&model->class_names, id);
    }
    return module;
}

static size_t count_commas(const char *text, const char *end)
{
    size_t count = 0;
    for (; (text = memchr(text, ',', (size_t)(end - text))); text++)
        count++;
    return count;
}

/* Keys are "L__self__..." or, after strict export, the number of an object. */
static bool is_entry_start(const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return begins(text, length, self_key) || begins(text, length, strict_self) ||
           (digits && digits < length && text[digits] == ',');
}

/*
 * Semicolons separate entries, but a path may contain semicolons and commas too. A separator has a
 * whole entry (two commas) before it, and a known key or a whole entry after it.
 */
static const char *entry_end(const char *at, const char *end)
{
    const char *counted = at;
    size_t commas = 0;
    for (const char *stop = at; (stop = memchr(stop, ';', (size_t)(end - stop))); stop++) {
        const char *next = stop + 1;
        const char *next_end = memchr(next, ';', (size_t)(end - next));
        commas += count_commas(counted, stop);
        counted = stop;
        if (commas >= 2 && (is_entry_start(next, (size_t)(end - next)) ||
                            count_commas(next, next_end ? next_end : end) >= 2))
            return stop;
    }
    return end;
}

/*
 * Entries that the stack shares with the last one, which are those of the enclosing modules. Returns
 * the end of the last of them with its semicolon, and sets the place.
 */
static size_t shared_entries(const pyro_model *model, const char *stack, size_t length,
                             pyro_place *place, size_t *count)
{
    size_t begin = 0;
    for (*count = 0; *count < model->last_count; ++*count) {
        size_t end = model->last_ends[*count];
        if (end >= length || stack[end] != ';' ||
            memcmp(model->last_stack.data + begin, stack + begin, end - begin) != 0)
            break;
        /* A path may contain a semicolon: this one must end an entry here too. */
        if (entry_end(stack + begin, stack + length) != stack + end)
            break;
        *place = model->last_places[*count];
        begin = end + 1;
    }
    return begin;
}

/* Reads the entries of a stack after those that it shares with the last one. */
static pyro_place read_stack(pyro_model *model, const char *stack, size_t length)
{
    pyro_place place = {0, PYRO_NO_VALUE};
    size_t count, begin = shared_entries(model, stack, length, &place, &count);
    model->last_count = count;
    for (const char *at = stack + begin, *end = stack + length; at < end;) {
        const char *stop = entry_end(at, end);
        place.module = module_of_entry(model, at, (size_t)(stop - at), &place.call);
        if (place.module == PYRO_NO_VALUE)
            return place;
        if (model->last_count < PYRO_LAST_PLACES) {
            model->last_places[model->last_count] = place;
            model->last_ends[model->last_count++] = (size_t)(stop - stack);
        }
        at = stop + 1;
    }
    return place;
}

pyro_place pyro_model_place_of_stack(pyro_model *model, const char *stack, size_t length)
{
    static const pyro_place none = {PYRO_NO_VALUE, PYRO_NO_VALUE};
    pyro_buf *last = &model->last_stack;
    /* Neighbouring nodes share their stack. */
    if (model->last_place.module != PYRO_NO_VALUE && last->length == length &&
        !memcmp(last->data, stack, length))
        return model->last_place;
    model->last_place = read_stack(model, stack, length);
    last->length = 0;
    pyro_buf_add(last, stack, length);
    if (last->failed)
        return model->last_place = none;
    return model->last_place;
}

uint32_t pyro_model_enter(pyro_model *model, uint32_t module)
{
    while (module && !model->modules[module].is_called)
        module = model->modules[module].parent;
    if (!module)
        return model->open_call = PYRO_NO_VALUE;
    for (uint32_t at = model->open_call; at != PYRO_NO_VALUE; at = model->calls[at].parent)
        if (model->calls[at].module == module)
            return model->open_call = at;
    uint32_t call = pyro_model_enter(model, model->modules[module].parent);
    if (!add_call(model, module, &call))
        return PYRO_NO_VALUE;
    return model->open_call = call;
}
