// Sums all durations with simdjson's on-demand interface: the least that a reader must do.
#include <cstdio>
#include <simdjson.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    simdjson::padded_string text;
    if (simdjson::padded_string::load(argv[1]).get(text))
        return 1;
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::array events;
    if (parser.iterate(text).get(document) || document["traceEvents"].get_array().get(events))
        return 1;
    double sum = 0;
    size_t count = 0;
    for (auto event : events) {
        double duration;
        count++;
        if (!event["dur"].get(duration))
            sum += duration;
    }
    std::printf("%zu events, %.3f us\n", count, sum);
    return 0;
}
