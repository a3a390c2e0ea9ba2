"""Loads compiled code as numba does, but for what it takes only to compile more, and says whether numba is as that takes for granted."""

from collections.abc import Callable
from functools import cache, reduce
from importlib import import_module
from inspect import unwrap
from types import CodeType
from typing import Any

_KNOWN = {
    "dispatcher.Dispatcher.enable_caching": "self: FunctionCache _cache py_func",
    "dispatcher.Dispatcher.compile": "self sig: ExitStack ForceLiteralArg RuntimeError _cache _cache_hits _cache_misses"
    " _callback_add_compiler_timer _callback_add_llvm_timer _can_compile _compiler _compiling_counter add_overload bind_fold_arguments compile dict"
    " enter_context entry_point errors ev fndesc fold_argument_types get global_compiler_lock insert_user_function install_timer library load_overload"
    " normalize_signature objectmode overloads save_overload sigutils targetctx trigger_event tuple",
    "caching.Cache.load_overload": "self sig target_context: _guard_against_spurious_io_errors _load_overload refresh",
    "caching.Cache._load_overload": "self sig target_context: _cache_file _enabled _impl _index_key codegen load rebuild",
    "caching.Cache._save_overload": "self sig data: _cache_file _enabled _impl _index_key check_cachable codegen ensure_cache_path locator reduce save",
    "caching.CompileResultCacheImpl.reduce": "self cres: _reduce",
    "caching.CompileResultCacheImpl.rebuild": "self target_context payload: CompileResult _rebuild compiler",
    "caching.CompileResultCacheImpl.check_cachable": "self cres: NumbaWarning _lineno _locator _py_file any can_cache fndesc has_dynamic_globals library lifted"
    " qualname split warn_explicit warnings",
    "compiler.CompileResult._reduce": "self: _find_referenced_environments calltypes environment fndesc library lifted objectmode reload_init"
    " serialize_using_object_code signature str tuple type_annotation typemap",
    "compiler.CompileResult._rebuild": "cls target_context libdata fndesc env signature objectmode lifted typeann reload_init referenced_envs:"
    " codegen env_name get_executable set_env typing_context unserialize_library",
    "codegen.Codegen.unserialize_library": "self serialized: _library_class _unserialize",
    "codegen.CPUCodeLibrary._unserialize": "cls codegen state: ValueError _codegen _engine _final_module _finalize_final_module _load_defined_symbols"
    " _set_compiled_object _shared_module create_library enable_object_caching isinstance ll parse_bitcode",
    "codegen.CPUCodeLibrary._get_module_for_linking": "self: Linkage RuntimeError _ensure_finalized _final_module _shared_module append clone external"
    " functions get_function is_declaration linkage ll name",
    "codegen.CPUCodeLibrary.serialize_using_object_code": "self: _ensure_finalized _get_compiled_object _get_module_for_linking as_bitcode name",
    "codegen.JitEngine._load_defined_symbols": "self mod: _defined_symbols functions global_variables is_declaration name",
    "codegen.CPUCodegen.magic_tuple": "self: _get_host_cpu_name _llvm_module _tm_features triple",
    "serialize.dumps": "obj: BytesIO NumbaPickler dump getvalue io",
    "environment._rebuild_env": "modname consts env_name: Environment __dict__ _memo consts env_name import_module importlib lookup_environment",
    "environment.lookup_environment": "env_name: Environment _memo get",
    "environment.Environment.__reduce__": "self: _rebuild_env consts env_name get globals",
    "runtime.rtsys.initialize": "self ctx: NRT_STATS _init _library _nrt add_symbol c_helpers compile_nrt_functions config ll memsys_enable_stats nrtdynmod"
    " startswith",
    "runtime.nrtdynmod.compile_nrt_functions": "ctx: add_ir_module create_nrt_module finalize",
}
"""Functions of numba.core (0.65 to 0.68) that quick loading calls, replaces or leaves out: their parameters, and all names
that they, and what is defined in them, use of others."""


@cache
def difference() -> str | None:
    """Name the first function that is not as known: gone, or with other parameters, or made of other things. None: all are as known."""
    return next((f"numba.core.{name}" for name, known in _KNOWN.items() if _found(name) != known), None)


def _found(name: str) -> str | None:
    module, *path = name.split(".")
    try:
        function: Any = reduce(getattr, path, import_module(f"numba.core.{module}"))
        code = unwrap(getattr(function, "__func__", function)).__code__
    except (ImportError, AttributeError):
        return None
    return f"{' '.join(code.co_varnames[: code.co_argcount])}: {' '.join(sorted(_names(code)))}"


def _names(code: CodeType) -> set[str]:
    """Gather the names that a function uses, with those of what is defined in it: from Python 3.12 on a comprehension is part of the function around it."""
    return set(code.co_names).union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def packed(library: Any) -> tuple[Any, ...]:
    """Give what is kept of a library of machine code: what numba would keep, and the names of all that it defines."""
    module = library._get_module_for_linking()
    defined = [each.name for these in (module.functions, module.global_variables) for each in these if not each.is_declaration]
    return (*library.serialize_using_object_code(), defined)


def unpacked(codegen: Any, kept: tuple[Any, ...]) -> Any:
    """Load a library that is kept. Its bitcode, of which a kernel that calls it is made, is parsed once one is compiled: that takes longer than all else."""
    name, _, (code, bitcode), defined = kept
    library = codegen.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._get_module_for_linking = cache(lambda: import_module("llvmlite.binding").parse_bitcode(bitcode))
    library._finalize_final_module()
    codegen._engine._defined_symbols.update(defined)
    return library


def rebuilt(context: Any, kept: tuple[Any, ...]) -> Any:
    """Make a compiled kernel of what is kept of it: its library as `packed` gave it, and the rest as numba's `CompileResult._reduce` did."""
    library, description, environment, signature, object_mode, lifted, annotation, initializers, environments = kept
    for each in initializers:
        each()
    library = unpacked(context.codegen(), library)
    made: Any = import_module("numba.core.compiler").CompileResult(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=context.get_executable(library, description, environment),
        typing_error=None,
        type_annotation=annotation,
        signature=signature,
        objectmode=object_mode,
        lifted=lifted,
        fndesc=description,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=initializers,
        referenced_envs=environments,
    )
    for each in environments:
        library.codegen.set_env(each.env_name, each)
    return made


def begin_runtime(context: Any, functions: Callable[[Any], Any]) -> None:
    """Begin numba's runtime, which every kernel may call, with its functions as they are given for the context: numba compiles them in each process."""
    runtime: Any = import_module("numba.core.runtime").rtsys
    if runtime._init:
        return
    module: Any = import_module("numba.core.runtime.nrtdynmod")
    before, module.compile_nrt_functions = module.compile_nrt_functions, functions
    try:
        runtime.initialize(context)
    finally:
        module.compile_nrt_functions = before


def compiled_runtime(context: Any) -> Any:
    """Compile the functions of numba's runtime as numba does, into a library that can be kept."""
    module, library = import_module("numba.core.runtime.nrtdynmod").create_nrt_module(context)
    library.enable_object_caching()
    library.add_ir_module(module)
    library.finalize()
    return library
