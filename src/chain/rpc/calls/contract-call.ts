import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
} from 'viem'

/** An encoded call of a contract's view function. */
export interface ContractCall<Value> {
  readonly to: Address
  readonly data: Hex
  readonly name: string
  decode(data: Hex): Value
}

/** Encodes a call of a view function. */
export function contractCall<
  const abi extends Abi,
  name extends ContractFunctionName<abi, 'view'>,
  const args extends ContractFunctionArgs<abi, 'view', name>,
>(abi: abi, to: Address, name: name, args: args): ContractCall<ContractFunctionReturnType<abi, 'view', name, args>> {
  // The signature above types the call for callers; viem's own types cannot be resolved for a generic ABI.
  const functionName: string = name
  return {
    to,
    name,
    data: encodeFunctionData<Abi, string>({ abi, functionName, args: args as readonly unknown[] }),
    decode: (data) =>
      decodeFunctionResult<Abi, string>({ abi, functionName, data }) as ContractFunctionReturnType<
        abi,
        'view',
        name,
        args
      >,
  }
}
