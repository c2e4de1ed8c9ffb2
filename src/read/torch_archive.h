/* Archives of torch.save and TorchScript: their tensors, without executing anything in them. */
#ifndef PYRO_READ_TORCH_ARCHIVE_H
#define PYRO_READ_TORCH_ARCHIVE_H

#include "base/zip/zip.h"
#include "graph/model.h"

/* The member with the description of the tensors; NULL: the zip is another kind of archive. */
const pyro_zip_entry *pyro_torch_archive_find(const pyro_zip *zip);
/* Reads names, shapes and types of all tensors into a model without a graph. */
int pyro_torch_archive_open(pyro_model *model, const pyro_zip *zip, pyro_error *error);

/* Attributes that the code of a TorchScript archive declares as buffers: "class.attribute". */
int pyro_script_buffers(pyro_intern *buffers, const pyro_zip *zip, pyro_error *error);

#endif
